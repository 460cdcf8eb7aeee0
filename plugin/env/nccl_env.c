/* libnccl-env.so, NCCL's environment plugin (NCCL >= 2.28): with this library's folder on the library path, a job that
 * names its reducers needs no NCCL variable at all.
 *
 * It answers NCCL_NET_PLUGIN and NCCL_COLLNET_ENABLE, each only when it is not set (NCCL's configuration files count as
 * set: NCCL has put their lines into the environment by then), and only when reducers are configured and nothing asks for
 * another network. Every other name, and these otherwise, are the environment's.
 *
 * A library of its own, in C, with nothing but libc: NCCL opens it in every job that has its folder on the path. No state
 * but one string, made once; any thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "nccl/env_v2.h"

#define EXPORT __attribute__((visibility("default")))

/* NCCL ignores longer names without a warning (MAX_STR_LEN of its src/plugin), and takes a comma for the end of one. */
#define NCCL_LONGEST_NAME 254

static const char kNetLibrary[] = "libnccl-net-fanin.so";
static char net_plugin[NCCL_LONGEST_NAME + 1] = "fanin";
static pthread_once_t net_plugin_once = PTHREAD_ONCE_INIT;

/* The net plugin installed with this library (in its folder or the one above), so that it need not be on the library path
 * and is the same release; else, or where NCCL could not read its path, by its name. */
static void find_net_plugin(void) {
  Dl_info self;
  char path[sizeof net_plugin];
  if (!dladdr((void*)find_net_plugin, &self) || !self.dli_fname) return;
  const char* slash = strrchr(self.dli_fname, '/');
  if (!slash) return;
  for (int up = 0; up < 2; up++) {
    int n = snprintf(path, sizeof path, "%.*s/%s%s", (int)(slash - self.dli_fname), self.dli_fname,
                     up ? "../" : "", kNetLibrary);
    if (n > 0 && n <= NCCL_LONGEST_NAME && !strchr(path, ',') && access(path, R_OK) == 0) {
      memcpy(net_plugin, path, (size_t)n + 1);
      return;
    }
  }
}

static int is_set(const char* name) {
  const char* value = getenv(name);
  return value && *value;
}

/* FANIN_COLLNET=0 is the way to keep a job off its reducers without unsetting them. */
static int is_off(const char* name) {
  const char* value = getenv(name);
  return value && (!strcmp(value, "0") || !strcasecmp(value, "false") || !strcasecmp(value, "no") ||
                   !strcasecmp(value, "off"));
}

/* topology/discovery.h without a JSON parser: the first that is set decides. A wrong guess costs a warning from the net
 * plugin, which reads it properly. */
static int names_reducers(void) {
  if (is_set("FANIN_REDUCERS")) return strcmp(getenv("FANIN_REDUCERS"), "none") != 0;
  if (is_set("CLUSTER_SPEC")) return strstr(getenv("CLUSTER_SPEC"), "\"workerpool2\"") != NULL;
  return is_set("TF_CONFIG") && strstr(getenv("TF_CONFIG"), "\"ps\"") != NULL;
}

static int wants_reducers(void) {
  if (!names_reducers() || is_off("FANIN_COLLNET")) return 0;
  const char* net = getenv("NCCL_NET");
  if (net && *net && strcasecmp(net, "fanin") != 0) return 0;
  /* A plugin of another name was chosen: CollNet is its business. */
  const char* plugin = getenv("NCCL_NET_PLUGIN");
  return !plugin || strstr(plugin, "fanin") != NULL;
}

static const char* get_env(const char* name) {
  const char* value = getenv(name);
  if (value) return value;
  if (!strcmp(name, "NCCL_NET_PLUGIN") && wants_reducers()) {
    pthread_once(&net_plugin_once, find_net_plugin);
    return net_plugin;
  }
  if (!strcmp(name, "NCCL_COLLNET_ENABLE") && wants_reducers()) return "1";
  return NULL;
}

static ncclResult_t finalize(void) { return ncclSuccess; }

static ncclResult_t init_v1(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix) {
  (void)major, (void)minor, (void)patch, (void)suffix;
  return ncclSuccess;
}

static ncclResult_t init_v2(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix,
                            ncclDebugLogger_t log) {
  (void)major, (void)minor, (void)patch, (void)suffix;
  if (log && wants_reducers())
    log(NCCL_LOG_INFO, NCCL_ENV, __FILE__, __LINE__,
        "fanin: reducers are configured: the environment plugin answers NCCL_NET_PLUGIN and "
        "NCCL_COLLNET_ENABLE where they "
        "are not set");
  return ncclSuccess;
}

EXPORT const ncclEnv_v1_t ncclEnvPlugin_v1 = {"fanin", init_v1, finalize, get_env};
EXPORT const ncclEnv_v2_t ncclEnvPlugin_v2 = {"fanin", init_v2, finalize, get_env};
