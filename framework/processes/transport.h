// What carries bytes from process to process: Open MPI (mpi.cpp), or nothing (no_mpi.cpp).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace unroll {

// Nothing here waits: what was begun is looked at until it is done.
class Transport {
 public:
  virtual ~Transport() = default;
  int rank = 0, count = 1;
  std::string name;

  // Begin to send or to receive a block; returns its number. The memory must stay until it is done.
  virtual int send(int to, const void* data, std::size_t bytes) = 0;
  virtual int receive(int from, void* data, std::size_t bytes) = 0;
  virtual bool is_done(int number) = 0;  // once it is, the number is free again

  // A word that others find beside all blocks: the exit code of a rank that has failed.
  virtual void send_word(int to, int word) = 0;
  struct Word {
    int from, word;
  };
  virtual std::optional<Word> find_word() = 0;

  virtual void finish() = 0;  // of a process that has nothing more to exchange
};

// Joins the others that `launched` says there are. Throws InputError.
std::unique_ptr<Transport> open_transport(int launched);

}  // namespace unroll
