/* The unwinder of GCC's archive asks glibc 2.35 for _dl_find_object. This one takes its place in programs and libraries that have the
   unwinder in them (scripts/portable.sh), which so run with glibc 2.34: it goes through the loaded objects, as the unwinder did before. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* `struct dl_find_object` of x86-64 and AArch64, by another name: <dlfcn.h> may have it. */
struct found_object {
  unsigned long long flags;
  void *map_start, *map_end;
  struct link_map *link_map;
  void *eh_frame;
  unsigned long long reserved[7];
};

struct search {
  uintptr_t address;
  struct found_object *result;
};

static int visit(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  uintptr_t eh_frame = 0, begin = 0, end = 0;
  for (int at = 0; at < object->dlpi_phnum; at++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[at];
    uintptr_t first = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME)
      eh_frame = first;
    else if (segment->p_type == PT_LOAD && first <= search->address && search->address < first + segment->p_memsz) {
      begin = first;
      end = first + segment->p_memsz;
    }
  }
  if (begin == end)
    return 0;
  if (eh_frame == 0)
    return -1;
  *search->result = (struct found_object){.map_start = (void *)begin, .map_end = (void *)end, .eh_frame = (void *)eh_frame};
  return 1;
}

/* A header of glibc may declare the name, with its own structure. */
__attribute__((visibility("hidden"))) int find_object(void *address, struct found_object *result) __asm__("_dl_find_object");

int find_object(void *address, struct found_object *result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}
