// SPDX-License-Identifier: Apache-2.0
// Reports locks to ThreadSanitizer that it cannot see: when two threads contend for a `Mutex`, the code that waits and
// wakes is in libswiftSynchronization.so, which is not instrumented, and the kernel hands the lock over. Without this,
// all data that such locks guard looks like a race. Scripts/tsan loads it before the tests.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
#define WAIT "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define WAKE "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"

void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

SWIFT void waits(uint32_t thread, SELF) __asm__(WAIT);
SWIFT void waits(uint32_t thread, SELF) {
    static SWIFT void (*real)(uint32_t, SELF);
    if (!real) real = next(WAIT);
    real(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void wakes(SELF) __asm__(WAKE);
SWIFT void wakes(SELF) {
    static SWIFT void (*real)(SELF);
    if (!real) real = next(WAKE);
    if (__tsan_release) __tsan_release(self);
    real(self);
}

SWIFT _Bool tries(SELF) __asm__(TRY);
SWIFT _Bool tries(SELF) {
    static SWIFT _Bool (*real)(SELF);
    if (!real) real = next(TRY);
    _Bool has = real(self);
    if (has && __tsan_acquire) __tsan_acquire(self);
    return has;
}
