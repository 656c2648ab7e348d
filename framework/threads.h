// The threads of this process: one pool.
//
// A thread that has nothing to do spins for some microseconds, as long as it usually takes until the next pass or
// product. Then it sleeps, so it does not keep a core that somebody else needs. Nobody waits for a thread that has
// not begun: the others do what it has not taken by then.
#pragma once

namespace unroll {

// As many as there are pieces of a task: more would find nothing to take.
inline constexpr int most_threads = 32;

// Threads that share the work from now on; at first as many as there are cores for this process, but not more than
// can be used. Throws InputError below 1 and above most_threads.
void set_threads(int count);
int threads();  // one within a piece of a task, since the others have pieces of their own

// task(context, piece) for each piece in 0 … pieces-1, at most `most_threads` of them, on this thread and others; returns
// when all are done. An exception in a piece comes out of the call: when the others are done or, where this thread does all of
// them, at once, and those behind it are left out. A thread begins with the same pieces each time, so that what they need
// is still in its cache. Called from several threads at once, or from a task, one call gets the pool and the others do
// their pieces themselves.
void run_pieces(int pieces, void (*task)(const void* context, int piece), const void* context);
template <class Task>
void run_pieces(int pieces, const Task& task) {
  run_pieces(
      pieces, [](const void* context, int piece) { (*static_cast<const Task*>(context))(piece); }, &task);
}

}  // namespace unroll
