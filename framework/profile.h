// Measures where the time of training goes: calls, seconds, arithmetic and memory of each operation.
//
//   Profile profile;                                // while it lives, this thread's tapes are measured; it outlives them
//   for (…) { Tape tape; …; tape.backward(loss); }
//   for (const Profile::Row& row : profile.rows()) …     // training/report/run_description.h makes a table of them
//
// Every operation ends in record(), and before its values it has nothing to do. So the time between one record and
// the next is the forward time of the next. It includes what a program does in between (cutting a window out of a
// text). A composite operation appears as the operations it is made of. Backward time is taken around each record's
// own. Use a Profile::Part to measure what leaves no record (an optimizer's step, a validation), and, to tell parts
// of an operation apart, a Profile::Within. Without a Profile, a record costs one branch on the tape's pointer to it,
// and either of the others one on the thread's.
//
// A GPU computes later than it is asked: with a Profile the host waits for it wherever time is taken, so that each row has what
// was computed for it. That costs some speed. Steps that a graph plays are in no row but "everything else".
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace unroll {

// This thread's matrix products since it began: gemm adds to it.
struct ProductCount {
  int64_t flops = 0;   // 2 m n k each
  double seconds = 0;  // as far as the thread had a Profile
};
inline constinit thread_local ProductCount products_done;  // by this thread

class Profile {
 public:
  // Throws Error if this thread has one already.
  Profile();
  ~Profile();
  Profile& operator=(Profile&&) = delete;

  struct Row {
    std::string name;                  // of the operation or the part
    int64_t calls = 0;                 // in all tapes
    double forward = 0, backward = 0;  // seconds; a part has all of its time in `forward`
    int64_t flops = 0;                 // of matrix products, forward and backward; 2 m n k each
    double products = 0;               // seconds of them, packing included
    int64_t held = 0;  // bytes that waited for the backward: results, and what it needs besides
    double seconds() const { return forward + backward; }  // both together
  };
  // The longest first; the last is what no other has, named "everything else", up to now.
  std::vector<Row> rows() const;
  int64_t tapes() const { return tapes_; }  // that were measured

  using Clock = std::chrono::steady_clock;  // of all times here

  // Measures its own lifetime as a row, if this thread has a Profile. The name must live as long as that.
  class Part {
   public:
    explicit Part(std::string_view name);
    ~Part();
    Part& operator=(Part&&) = delete;

   private:
    std::string_view name_;
    Profile* profile_;
    Clock::time_point begin_;
  };

  // Measures a share of an operation, forward or backward, and takes it out of the operation's own row. Inside a Part
  // it measures nothing: a Part has all of its time. One inside another is not for use. Without a name it measures
  // nothing either.
  class Within {
   public:
    explicit Within(std::string_view name);
    ~Within();
    Within& operator=(Within&&) = delete;

   private:
    std::string_view name_;
    Profile* profile_;
    Clock::time_point begin_;
    ProductCount before_;
  };

  // Measures its own lifetime as that of a matrix product of so many flops.
  class Product {
   public:
    explicit Product(int64_t flops);
    ~Product();
    Product& operator=(Product&&) = delete;

   private:
    bool measures_;
    Clock::time_point begin_;
  };

  // --- for the tape ------------------------------------------------------------------------------------

  static Profile* active();            // this thread's; nullptr: it has none
  void begin_tape();                   // a tape begins to record
  void recorded(std::string_view op);  // its values are there
  // One record's backward, in three calls.
  void before_backward();
  void before_release();               // it ran; what it held goes now
  void finished(std::string_view op);  // the record is gone

 private:
  Row& row(std::string_view name);
  static Clock::time_point now() noexcept;  // when all that was asked for is done
  double lap();                             // seconds since the last one
  void add_products(Row& to);               // those since the last time

  std::map<std::string, Row, std::less<>> rows_;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
  int64_t tapes_ = 0, in_use_ = 0;
  ProductCount products_;
  double backward_ = 0;   // of the record that is being released
  bool playing_ = false;  // a record's backward
  int parts_ = 0;         // that are alive
};

}  // namespace unroll
