// Weights in files, and files that are written whole.
#include "docs/reference/examples/examples.h"
#include "training/files/atomic_file.h"

void files() {
  //! [SafetensorsFile]
  const Folder folder;
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3});
  const std::vector<NamedTensor> weights = state_dict(params);  // under PyTorch's names
  check(weights[0].name == "lstm.weight_ih_l0");
  write_safetensors(folder / "model.safetensors", weights, {{"made by", "me"}});

  const SafetensorsFile file(folder / "model.safetensors");
  check(file.entry("lstm.bias_hh_l0").shape_text() == "[12]");  // PyTorch has two biases; the second is zeros
  const std::vector<std::string> others = load_state_dict(file, params);
  check(others.empty() && file.metadata().at("made by") == "me");
  //! [SafetensorsFile]

  //! [AtomicFile]
  AtomicFile whole(folder / "result.txt");  // a temporary file beside it
  whole.write("all of it\n");
  whole.commit();                      // now it is there
  AppendFile log(folder / "log.txt");  // grows; a killed process loses nothing
  log.append("one line\n");
  check(std::filesystem::exists(folder / "result.txt"));
  //! [AtomicFile]
}
