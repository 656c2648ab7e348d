// Checkpoints: any bytes as one from which ptb resumes. An accepted file is written out again; read and written once
// more, it is the same to the byte.
#include <algorithm>
#include <iterator>

#include "examples/ptb/model/saved_model.h"
#include "fuzz/safetensors.h"
#include "training/checkpoint.h"

using namespace unroll;

namespace {

// A run's parts beside its model.
struct Training {
  explicit Training(const ptb::SavedModel& saved)
      : optimizer(make_optimizer(saved.recipe.sections(), saved.model->params, 4)),
        streams(saved.model->zero_state(std::min(saved.recipe.data.batch, 4))),
        carried(ptb::carried(streams)),
        options{.metadata = ptb::model_metadata(saved.recipe, saved.vocabulary),
                .also = ptb::tied_weights(*saved.model)} {
    state.schedule = make_schedule(saved.recipe.sections(), 4);
  }
  void read(const std::filesystem::path& path) { read_checkpoint(path, *optimizer, state, carried, options); }
  std::string written() {
    const auto path = fuzz::folder() / "again.safetensors";
    write_checkpoint(path, *optimizer, state, carried, options);
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::unique_ptr<Optimizer> optimizer;
  ptb::ModelState streams;
  std::vector<NamedTensor> carried;
  CheckpointOptions options;
  TrainerState state;
};

void go_on_from(const std::filesystem::path& path) {
  const ptb::SavedModel saved = ptb::load_model(path);
  Training training(saved);
  training.read(path);
  std::string first;
  try {
    first = training.written();
  } catch (const Diverged&) { return; }  // what is not finite is read, and not written
  training.read(fuzz::folder() / "again.safetensors");
  fuzz::expect(training.written() == first, "a checkpoint makes itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  for (const std::string& bytes : fuzz::as_safetensors(data, size))
    fuzz::expect_in_proportion(bytes, go_on_from);
  return 0;
}
