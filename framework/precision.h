// The precision of this process's matrix products.
#pragma once

#include <cstdint>
#include <string>

namespace unroll {

struct Products;

// The numbers of products' operands (all_precisions). tf32 and bf16 have float's range, with 11 and 8 bits instead of 24.
// fp16 has 11 bits and a range of its own, 6e-8 to 65504, so gradients need a scale to fit in
// (training/loss_scale.h). Sums, and all tensors, stay float.
enum class Precision : uint8_t { fp32, tf32, bf16, fp16 };
inline constexpr Precision all_precisions[] = {Precision::fp32, Precision::tf32, Precision::bf16,
                                               Precision::fp16};
const char* name_of(Precision precision);
// fp32, tf32, bf16, fp16, or auto: bf16 where the device multiplies such numbers. Throws InputError.
Precision precision_named(const std::string& name);

// Sets the precision of all products from now on; at first it is fp32. For a GPU call it after set_device() and
// before layers are made: a cuDNN layer stays in the precision that it was made in, and throws Error when it is used
// in another. Throws InputError, and says what is missing, if the device cannot.
void set_precision(Precision precision);
Precision precision();

// The kernels of products in a precision, by default the process's. Throws Error if the device cannot compute in it.
const Products& products_in(Precision precision = unroll::precision());

}  // namespace unroll
