// Files of weights: any bytes as a safetensors file. Its header, every tensor, and the model that it claims
// to hold, of ptb and of PyTorch.
#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/model/torch_model.h"
#include "fuzz/safetensors.h"
#include "training/files/safetensors.h"

using namespace unroll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  for (const std::string& bytes : fuzz::as_safetensors(data, size)) {
    fuzz::expect_in_proportion(bytes, [](const auto& path) {
      const SafetensorsFile file(path);
      for (const auto& entry : file.entries())
        fuzz::accepts(
            [&] { fuzz::expect(file.load(entry.name).size() == entry.size(), "a tensor has its shape"); });
      ptb::read_torch_model(file);
    });
    fuzz::expect_in_proportion(bytes, [](const auto& path) { ptb::load_model(path); });
  }
  return 0;
}
