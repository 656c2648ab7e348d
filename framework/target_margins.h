// The margins of a cross-entropy (CrossEntropyOptions::margins) over logits that exist a chunk of rows at a time.
#pragma once

#include <algorithm>
#include <optional>

#include "framework/kernels/kernels.h"
#include "framework/loss.h"

namespace unroll {

// z_r is the logit of row r's target:
//   z_r -= margin_r        dmargin_r = -dz_r
class TargetMargins {
 public:
  // target: one a row. An ignored one counts as class 0: its row has no loss, and no gradient.
  TargetMargins(const CrossEntropyOptions& options, const IdTensor& target) {
    if (!options.margins) return;
    IdTensor classes = target;
    if (std::ranges::count(target.span(), options.ignore_index) > 0) {
      classes = target.clone();
      std::ranges::replace(classes.span(), options.ignore_index, 0);
    }
    ids_.emplace(classes);
    negative_ = Tensor(Shape{static_cast<int>(target.size())});
    kernels().affine(options.margins->value().data(), -1, 0, negative_.data(), negative_.size(), false);
  }
  // logits [rows, classes] of the targets from `first` on
  void take_from(Tensor& logits, int first) const {
    if (ids_)
      kernels().add_to_middle(negative_.data() + first, ids_->data() + first, false, logits.dim(0),
                              logits.dim(1), 1, 1, logits.data());
  }
  // dlogits as above; dmargins [targets], of which these rows are overwritten
  void gradient(const Tensor& dlogits, int first, Tensor& dmargins) const {
    real* const d = dmargins.data() + first;
    kernels().take_middle(dlogits.data(), ids_->data() + first, false, dlogits.dim(0), dlogits.dim(1), 1, 1, d);
    kernels().affine(d, -1, 0, d, dlogits.dim(0), false);
  }

 private:
  std::optional<KernelIds> ids_;
  Tensor negative_;
};

}  // namespace unroll
