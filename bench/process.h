// A process's costs beside its speed: the time it took to start, and its memory. Linux reports them; elsewhere all
// are 0.
#pragma once

#include <cstdint>

// Since the process was created, with the loading of its libraries, to a hundredth of a second.
double seconds_since_start();
// Bytes of memory that the process has at present.
int64_t resident_memory();
