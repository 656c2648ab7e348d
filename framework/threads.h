// The threads of this process: one pool, OpenMP's.
//
// Waiting is what threads cost where a core is shared, so they meet seldom: a pass over elements or a product of
// matrices is one parallel region without a barrier inside, and work that takes tens of microseconds stays on one thread.
#pragma once

namespace unroll {

// Threads of every parallel region from now on. Throws InputError below 1.
void set_threads(int count);
int threads();

// For the first line of main: makes threads that wait for work sleep soon instead of spinning.
//
// OpenMP reads how long to spin when a process is loaded, so where nothing is said in the environment this starts the
// program anew, once, with GOMP_SPINCOUNT set. A spinning thread keeps the core that another needs: with a second
// process on the machine, training by the default was seen to run at a twentieth of its speed.
void sleep_while_waiting(char** argv);

}  // namespace unroll
