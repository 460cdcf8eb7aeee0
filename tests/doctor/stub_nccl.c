/* An NCCL that only tells its release, -DRELEASE=22809. */
int ncclGetVersion(int* version) {
  *version = RELEASE;
  return 0;
}
