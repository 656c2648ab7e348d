// Matrix products of tensors, packed or not, the precision that they are computed in, and what is refused.
#include "framework/gemm.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/device.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "framework/random.h"
#include "tests/support.h"
#include "tests/with_precision.h"

using namespace unroll;

TEST_CASE("gemm multiplies tensors and their transposes, packed or not") {
  const Tensor a = Tensor::from({2, 3}, std::vector<real>{1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::from({2, 3}, std::vector<real>{1, 0, 2, 0, 1, 1});
  const Tensor c({2, 2}), d({3, 3});
  gemm(a, transposed(b), overwrite(c));
  CHECK(c.to_host() == std::vector<real>{7, 5, 16, 11});
  gemm(a, PackedMatrix(transposed(b)), add_to(c));
  CHECK(c.to_host() == std::vector<real>{14, 10, 32, 22});
  const Tensor bias = Tensor::from({2}, std::vector<real>{100, 200});
  gemm(a, transposed(b), bias, c);
  CHECK(c.to_host() == std::vector<real>{107, 205, 116, 211});
  gemm(Tensor({2, 0}), Tensor({0, 2}), bias, c);
  CHECK(c.to_host() == std::vector<real>{100, 200, 100, 200});
  gemm(a, PackedMatrix(transposed(b)), bias, c);
  CHECK(c.to_host() == std::vector<real>{107, 205, 116, 211});
  gemm(Tensor({2, 0}), PackedMatrix(Tensor({0, 2})), bias, c);
  CHECK(c.to_host() == std::vector<real>{100, 200, 100, 200});
  PackedMatrix packed(b);
  b.fill(9);  // too late
  gemm(transposed(a), packed, overwrite(d));
  CHECK(d.to_host() == std::vector<real>{1, 4, 6, 2, 5, 9, 3, 6, 12});
  gemm(Tensor({2, 0}), PackedMatrix(Tensor({0, 2})), overwrite(c));
  CHECK(c.to_host() == std::vector<real>{0, 0, 0, 0});
  gemm(Tensor({0, 3}), transposed(b), overwrite(Tensor({0, 2})));
}

TEST_CASE("precision is the process's, and what was packed keeps its own") {
  const bool available = kernels().bf16.gemm != nullptr;
  CHECK(precision() == Precision::fp32);
  CHECK(precision_named("auto") == (available ? Precision::bf16 : Precision::fp32));
  CHECK(lacks(error_of([] { precision_named("fp8"); }), {"'fp8'", "fp32, tf32, bf16, fp16, auto"}) == "");
  for (const Precision p : all_precisions) CHECK(precision_named(name_of(p)) == p);
  if (!kernels().fp16.gemm)
    CHECK(lacks(error_of([] { set_precision(Precision::fp16); }),
                {"precision fp16: this needs an NVIDIA GPU of compute capability 7.0", kernels().name}) ==
          "");
  if (!available) {
    CHECK(lacks(error_of([] { set_precision(Precision::bf16); }), {"AMX, AVX512-BF16", kernels().name}) ==
          "");
    return;
  }
  const Tensor a = Tensor::full({1, 1}, 1.001f), b = Tensor::full({1, 1}, 3), c({1, 1});  // 1.001 rounds to 1
  const PackedMatrix in_float(b);
  set_precision(Precision::bf16);
  gemm(a, b, overwrite(c));
  CHECK(c.item() == 3);
  gemm(a, in_float, overwrite(c));
  CHECK(c.item() == 1.001f * 3);
  const PackedMatrix in_bf16(b);
  set_precision(Precision::fp32);
  gemm(a, in_bf16, overwrite(c));
  CHECK(c.item() == 3);
  gemm(a, b, overwrite(c));
  CHECK(c.item() == 1.001f * 3);
}

TEST_CASE("an operand that was rounded beforehand gives the same bits, transposed or not, and by rows") {
  RandomStream random(5, "rounded");
  for (const Precision p : all_precisions) {
    if (!on_gpu() && p != Precision::fp32) continue;  // there is none
    const WithPrecision in(p);
    CHECK(RoundedTensor::is_of_use() == (p == Precision::bf16 || p == Precision::fp16));
    const Tensor x = random_tensor({3, 5, 8}, random), w = random_tensor({7, 8}, random),
                 dy = random_tensor({15, 7}, random);
    const RoundedTensor of_x(x), of_w(w), of_dy(dy), empty;
    const Tensor y({15, 7}), same({15, 7}), row({5, 7}), same_row({5, 7}), dw({7, 8}), same_dw({7, 8});
    gemm(x, transposed(w), overwrite(y));
    gemm(of_x.operand(x), transposed(of_w.operand(w)), overwrite(same));
    CHECK(same_bits(y, same));
    gemm(empty.operand(x), PackedMatrix(transposed(w)), overwrite(y));
    gemm(of_x.operand(x), PackedMatrix(transposed(w)), overwrite(same));
    CHECK(same_bits(y, same));
    gemm(x[1], transposed(w), overwrite(row));
    gemm(of_x.operand(x, 1), transposed(w), overwrite(same_row));
    CHECK(same_bits(row, same_row));
    gemm(transposed(dy), x, overwrite(dw));
    gemm(transposed(of_dy.operand(dy)), of_x.operand(x), overwrite(same_dw));
    CHECK(same_bits(dw, same_dw));
    if (!RoundedTensor::is_of_use()) continue;
    const WithPrecision other(Precision::fp32);
    CHECK(lacks(error_of([&] { gemm(of_x.operand(x), transposed(w), overwrite(y)); }),
                {"rounded", "precision"}) == "");
  }
}

TEST_CASE("sizes that do not fit are named") {
  const Tensor a({2, 3}), c({2, 3});
  CHECK(lacks(error_of([&] { gemm(a, a, overwrite(c)); }), {"[2, 3] times [2, 3]"}) == "");
  CHECK(lacks(error_of([&] { gemm(a, PackedMatrix(a), overwrite(c)); }), {"[2, 3] times [2, 3]"}) == "");
  CHECK(lacks(error_of([&] {
                gemm(transposed(a), a, Tensor({2}), Tensor({3, 3}));
              }),
              {"a bias [2] for 3 columns"}) == "");
  CHECK(lacks(error_of([&] {
                gemm(transposed(a), PackedMatrix(a), Tensor({2}), Tensor({3, 3}));
              }),
              {"a bias [2] for 3 columns"}) == "");
  CHECK(lacks(error_of([&] { gemm(a, PackedMatrix(transposed(a)), overwrite(c)); }),
              {"does not give [2, 3]"}) == "");
}
