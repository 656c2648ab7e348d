// Tensors, the device, products, random numbers, errors.
#include "docs/reference/examples/examples.h"

namespace {

void shapes() {
  //! [Shape]
  const Shape shape{35, 20, 200};  // [steps, batch, hidden]
  check(shape.rank() == 3 && shape.size() == 140'000);
  check(shape[-1] == 200 && shape.text() == "[35, 20, 200]");
  check(shape.with(0, 1) == Shape{1, 20, 200});
  //! [Shape]
}

void numbers() {
  //! [BasicTensor]
  Tensor x({2, 3});  // BasicTensor<real>: memory from the pool, contents undefined
  x.fill(1);
  const Tensor y = Tensor::from({2, 3}, {0, 1, 2, 3, 4, 5});
  check(y(1, -1) == 5);  // an element
  check(y[1](0) == 3);   // a view of row 1
  check(y.reshape({3, -1}).shape() == Shape{3, 2});
  x.copy_from(y);                                      // the numbers; `x = y` would share y's memory
  const IdTensor words = IdTensor::from({2}, {7, 9});  // BasicTensor<int32_t>
  check(words.size() == 2);
  //! [BasicTensor]

  //! [OnHost]
  double sum = 0;
  for (const real v : y.on_host()) sum += v;  // OnHost: on a GPU a copy
  check(sum == 15);
  const OnHost<real> all = x.on_host(Access::change);
  all[0] = 8;  // comes back to the device where `all` ends
  //! [OnHost]
}

void products() {
  //! [Matrix]
  const Tensor a = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6}), b = Tensor::from({2, 3}, {1, 0, 0, 0, 1, 0});
  Tensor c({2, 2});
  gemm(a, Matrix(b, true), overwrite(c));  // c = a bᵀ; the result's place is an Into
  check(c(1, 0) == 4 && c(1, 1) == 5);
  gemm(a, Matrix(b, true), add_to(c));  // c += a bᵀ
  check(c(1, 0) == 8);

  const PackedMatrix packed(Matrix(b, true));  // once for many products
  gemm(a, packed, overwrite(c));
  check(c(1, 0) == 4);

  if (RoundedTensor::is_of_use()) {  // a GPU's products in 16 bits
    const RoundedTensor rounded(a);
    gemm(rounded.operand(a), Matrix(b, true), overwrite(c));
  }
  //! [Matrix]
}

void ids() {
  //! [DeviceIds]
  IdTensor words({3});
  const DeviceIds copy(words);  // kernels read the copy; on a CPU there is none
  words.fill(2);
  copy.renew();
  const KernelIds seen(words);  // as a kernel reads them
  check(on_gpu() || seen.data()[0] == 2);
  //! [DeviceIds]
}

void random_numbers() {
  //! [RandomStream]
  RandomStream stream(1, "my draws");  // the same seed and path give the same numbers on every machine
  const double u = stream.uniform();   // in [0, 1)
  const uint32_t die = stream.below(6);
  check(u >= 0 && u < 1 && die < 6);

  const RandomKey key{.seed = 1, .place = place_of("lstm.dropout"), .step = 3};
  check(key.uniform(10) == RandomKey(key).uniform(10));  // by element, in any order
  //! [RandomStream]
}

void errors() {
  //! [Error]
  try {
    matmul(Tensor({2, 3}), Tensor({2, 3}));
    check(false);
  } catch (const InputError&) {  // wrong input of a user: a file, a key, an option. Exit code 2
    check(false);
  } catch (const OutOfMemory&) {  // no memory. Exit code 3
    check(false);
  } catch (const DeviceError&) {  // a GPU has failed, or a library that computes on it. Exit code 1
    check(false);
  } catch (const Error& error) {  // the base of all; here: the shapes do not fit
    check(std::string(error.what()).find("[2, 3]") != std::string::npos);
  }
  //! [Error]
}

void device_in_use() {
  //! [Device]
  set_up(SetupOptions{.device = "cpu", .threads = 1, .precision = "fp32"});
  const Device here = device();
  check(name_of(here) == "cpu");
  if (here.gpu) {
    const DeviceFacts facts = device_facts();
    fmt::print("{}, {} bytes free\n", facts.name, facts.free);
  }
  //! [Device]
}

}  // namespace

void tensors() { device_in_use(), shapes(), numbers(), products(), ids(), random_numbers(), errors(); }
