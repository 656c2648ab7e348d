// The figures of a training, beside those of a loop that is spelled out: which tokens are predicted from which, what state a
// window begins with, what is minimized, what is scored.
#include "tests/examples/ptb.h"
#include "tests/support.h"
#include "unroll.h"

using namespace unroll;

namespace {

constexpr int width = 6, hidden = 7, batch = 3, bptt = 5, epochs = 6;
constexpr float most_norm = 0.5f;

// Words drawn from those that may follow the last one, in lines. The number of a word is its place in `words`.
const std::vector<std::string> words = {"the", "cat", "<eos>", "sat", "dog", "on", "a", "mat"};
std::vector<int32_t> draw(int count, uint64_t seed) {
  RandomStream random(seed, "text");
  std::vector<int32_t> ids = {0, 1, 2, 3, 4, 5, 6, 7, 2};  // every word, in the order of the numbers
  while (static_cast<int>(ids.size()) + 1 < count)
    ids.push_back(static_cast<int32_t>((ids.back() * 3 + random.below(3)) % 8));
  ids.push_back(2);
  return ids;
}
std::string text_of(const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += id == 2 ? "\n" : words[static_cast<size_t>(id)] + " ";
  return text;
}

struct Variant {
  std::string recipe;           // keys of [training] and [data], and what they mean for the loop:
  bool sum_over_steps = false;  // the steps' mean losses are added up
  bool regularized =
      false;  // half of what leaves the layers is dropped; 2 mean(dropped²) + 1 mean(change²) is added
  bool shuffled = false;  // each stream begins at a step that is drawn
  float adversarial = 0;  // the target's row is moved by so much of its length
  float past = 0;         // times the loss of telling the tokens of the last two fifths of a window's steps
  bool variable = false;     // windows of lengths that are drawn, each with its share of the learning rate
  float clip = most_norm;    // far above every norm: what is minimized counts by its size
  double rate = 0.5;         // of learning
  bool keeps_state = false;  // a mistake: an epoch begins with the state that the last one ended with
};

struct Model {
  Model() { params.initialize(Init::uniform(-1, 1)); }
  ParameterSet params{5};
  Embedding embed{params / "embedding", {.vocab = 8, .dim = width}};
  Lstm lstm{params / "lstm", {.input = width, .hidden = hidden, .layers = 2}};
  Dropout output_dropout{params / "output_dropout", {.rate = 0.5f}};
  Dense decoder{params / "decoder", {.in = hidden, .out = 8}};
  // A past decoder's first values are drawn by its parameters' names.
  Dense past{params / "past_decoder.hidden", {.in = hidden, .out = hidden}};
  Var past_bias = params.add("past_decoder.bias", {8}, Init::constant(0)).var();
};

struct Epoch {
  double loss, valid;  // mean nats of a token in training, perplexity of the valid split
};

// All tokens, the first predicted from <eos>, the state carried through.
double perplexity(const Model& model, const std::vector<int32_t>& text) {
  const NoTape guard;
  RecurrentState state = model.lstm.zero_state(1);
  double nats = 0;
  int32_t before = 2;
  for (const int32_t next : text) {
    const auto out = model.lstm(model.embed(ids({1, 1}, {before})), state);
    nats += static_cast<double>(softmax_cross_entropy(model.decoder, out.y, ids({1, 1}, {next})).item());
    state = out.state;
    before = next;
  }
  return std::exp(nats / static_cast<double>(text.size()));
}

// Stream i of L = (tokens - 1) / batch tokens begins at token i L; the state is empty as an epoch begins.
std::vector<Epoch> train(const std::vector<int32_t>& text, const std::vector<int32_t>& valid,
                         const Variant& variant) {
  Model model;
  Sgd optimizer(model.params, {.learning_rate = variant.rate});
  const int length = (static_cast<int>(text.size()) - 1) / batch;
  RecurrentState state = model.lstm.zero_state(batch);
  std::vector<Epoch> result;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (!variant.keeps_state) state = model.lstm.zero_state(batch);
    double nats = 0;
    int64_t window = 0;
    BpttWindows shuffled(text, {.batch = batch, .steps = 1});
    if (variant.shuffled) shuffled.shuffle(5, epoch + 1);
    for (int begin = 0, steps = 0; begin < length; begin += steps) {
      steps = variant.variable ? variable_steps(bptt, 5, epoch + 1, window++) : bptt;
      steps = std::min(steps, length - begin);
      std::vector<int32_t> input, target;
      for (int t = 0; t < steps; ++t)
        for (int i = 0; i < batch; ++i) {
          if (variant.shuffled) {
            const Window step = shuffled.at(begin + t);
            input.push_back(step.input.data()[i]), target.push_back(step.target.data()[i]);
            continue;
          }
          input.push_back(text[static_cast<size_t>(i * length + begin + t)]);
          target.push_back(text[static_cast<size_t>(i * length + begin + t + 1)]);
        }
      Tape tape;
      const auto out = model.lstm(model.embed(ids({steps, batch}, input)), state);
      const Var dropped = variant.regularized ? model.output_dropout(out.y) : out.y;
      Var logits = model.decoder(dropped);
      const IdTensor targets = ids({steps, batch}, target);
      if (variant.adversarial > 0) {
        const Var rows = embedding(model.decoder.weight.value(), targets), y(dropped.value());
        const Tensor agrees = sum(rows * y, -1).value() > 0;
        const Tensor move = mul(sqrt(sum(rows * rows, -1)) / sqrt(sum(y * y, -1)), agrees).value();
        const Var less = sum(reshape(move, {steps, batch, 1}) * y * dropped, -1) * variant.adversarial;
        std::vector<real> is_target(static_cast<size_t>(steps * batch * 8));
        for (size_t k = 0; k < target.size(); ++k) is_target[k * 8 + static_cast<size_t>(target[k])] = 1;
        logits = logits - Var(tensor({steps, batch, 8}, is_target)) * reshape(less, {steps, batch, 1});
      }
      const Var loss = softmax_cross_entropy(logits, targets);
      nats += static_cast<double>(loss.item()) * steps * batch;
      Var objective = loss;
      if (variant.regularized) {
        const Var change = slice(out.y, 0, 1, steps) - slice(out.y, 0, 0, steps - 1);
        objective = loss + mean(dropped * dropped) * 2 + mean(change * change);
      }
      if (variant.past > 0) {
        const int first = steps - (2 * steps + 4) / 5;
        const Var p = softmax(model.decoder(slice(dropped, 0, first, steps)));
        const Var told = tanh(model.past(matmul(p, model.decoder.weight)));
        objective = objective + softmax_cross_entropy(linear(told, model.decoder.weight, model.past_bias),
                                                      ids({steps, batch}, input).slice(first, steps)) *
                                    variant.past;
      }
      tape.backward(objective * static_cast<real>(variant.sum_over_steps ? steps : 1));
      optimizer.step({.max_norm = variant.clip, .rate_factor = variant.variable ? steps / double{bptt} : 1});
      state = out.state;
    }
    result.push_back({nats / (length * batch), perplexity(model, valid)});
  }
  return result;
}

}  // namespace

TEST_CASE("the figures of a training are those of a loop that is spelled out") {
  // 39 predictions in 3 streams of 13: windows of 5, 5 and 3 steps. A split that is scored takes more than the 1000 steps that
  // one window of scoring has.
  const std::vector<int32_t> text = draw(40, 1), valid = draw(1500, 2);
  const Folder folder;
  folder.write("text/train.txt", text_of(text));
  for (const char* split : {"valid", "test"}) folder.write(fmt::format("text/{}.txt", split), text_of(valid));
  for (const Variant& variant :
       {Variant{.recipe = "training.reduction=mean"},
        {.recipe = "training.reduction=sum-over-steps", .sum_over_steps = true},
        {.recipe = "training.reduction=sum-over-steps training.clip=100 optimizer.learning_rate=0.1",
        .sum_over_steps = true,
        .clip = 100,
        .rate = 0.1},
        {.recipe = "training.reduction=mean data.variable_bptt=true", .variable = true},
        {.recipe = "training.reduction=mean data.partial_shuffle=true", .shuffled = true},
        {.recipe = "training.reduction=mean training.adversarial_softmax=0.3", .adversarial = 0.3f},
        {.recipe = "training.reduction=mean training.past_decode=0.5 training.past_decode_share=0.4",
        .past = 0.5f},
        {.recipe = "training.reduction=mean model.output_dropout=0.5 training.activation_regularization=2 "
                   "training.temporal_activation_regularization=1",
        .regularized = true},
        {.recipe = "training.reduction=sum-over-steps training.clip=100 optimizer.learning_rate=0.05 "
                   "data.variable_bptt=true data.partial_shuffle=true training.adversarial_softmax=0.3 "
                   "training.past_decode=0.5 training.past_decode_share=0.4",
        .sum_over_steps = true,
        .shuffled = true,
        .adversarial = 0.3f,
        .past = 0.5f,
        .variable = true,
        .clip = 100,
        .rate = 0.05},
        {.recipe = "training.reduction=sum-over-steps training.clip=100 optimizer.learning_rate=0.05 "
                   "data.variable_bptt=true model.output_dropout=0.5 training.activation_regularization=2 "
                   "training.temporal_activation_regularization=1",
        .sum_over_steps = true,
        .regularized = true,
        .variable = true,
        .clip = 100,
        .rate = 0.05}}) {
    CAPTURE(variant.recipe);
    const std::string out = variant.recipe.substr(0, 200);
    folder.write(
        "plain.toml",
        fmt::format(
            "[model]\nembedding = {}\nhidden = {}\nlayers = 2\ninit = 1.0\n[data]\ncorpus = \"text\"\n"
            "batch = {}\nbptt = {}\n[training]\nepochs = {}\nclip = {}\nseed = 5\n"
            "[optimizer]\nkind = \"sgd\"\nlearning_rate = 0.5\n",
            width, hidden, batch, bptt, epochs, most_norm));
    Words command = {"train", "plain.toml", "--data", "text", "--threads", "1", "--out", out};
    std::istringstream keys(variant.recipe);
    for (std::string key; keys >> key;) command = command + Words{"--set", key};
    const auto json = ptb_json(command, folder.path());

    // Only rounding differs, by 2^-24 a number: some 10 operations deep, in 18 steps one after the other, that is
    // 1e-5 at most. A state that an epoch does not begin anew makes 100 times as much.
    constexpr double tolerance = 1e-5;
    const std::vector<Epoch> by_hand = train(text, valid, variant);
    std::vector<Epoch> found;
    for (const std::string& line : lines_of(read_text(folder / out / "log.jsonl")))
      if (const auto record = nlohmann::json::parse(line); record["kind"] == "epoch")
        found.push_back({record["loss"], record["valid_perplexity"]});
    REQUIRE(found.size() == epochs);
    for (size_t k = 0; k < epochs; ++k) {
      CAPTURE(k);
      CHECK(std::abs(found[k].loss - by_hand[k].loss) < tolerance * by_hand[k].loss);
      CHECK(std::abs(found[k].valid - by_hand[k].valid) < tolerance * by_hand[k].valid);
    }
    CHECK(json["test_perplexity"].get<double>() == doctest::Approx(found.back().valid).epsilon(1e-12));

    Variant mistaken = variant;
    mistaken.keeps_state = true;
    const std::vector<Epoch> carried_on = train(text, valid, mistaken);
    CHECK(carried_on[0].loss == by_hand[0].loss);
    CHECK(std::abs(carried_on[1].loss - by_hand[1].loss) > 20 * tolerance * by_hand[1].loss);
  }
}
