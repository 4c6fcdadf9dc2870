/* LLVM's libraries for Debian 12 ask glibc 2.36 for arc4random, where they name temporary files. This one takes its place in
   the module alone, which so runs with glibc 2.34 and later. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof value) != 0)
    abort();
  return value;
}
