/* Another network's plugin: tables begin with the name. */
struct table {
  const char* name;
};
const struct table ncclNetPlugin_v11 = {"other"}, ncclCollNetPlugin_v11 = {"other"};
