// The table of keys of a language model's recipe (recipe.h).
#include "examples/ptb/model/recipe.h"

namespace ptb {

namespace {

// As the reader's own; a declaration begins with its key.
template <class T>
RecipeKey& key(RecipeReader& reader, const char* name, T& field, const std::string& meaning) {
  return reader.key(name, field, meaning);
}
template <class E>
RecipeKey& choice(RecipeReader& reader, const char* name, E& field,
                  std::vector<std::pair<std::string, E>> words, const std::string& meaning) {
  return reader.choice(name, field, std::move(words), meaning);
}
// A number of units, layers or steps of the model. Upper bounds are far above what anyone trains: they refuse a damaged file's
// sizes before memory is allocated.
RecipeKey& size(RecipeReader& reader, const char* name, int& field, double most, const std::string& meaning) {
  return key(reader, name, field, meaning).at_least(1).at_most(most).fixed();
}
// Of dropout.
RecipeKey& probability(RecipeReader& reader, const char* name, float& field, const std::string& meaning) {
  return key(reader, name, field, meaning).at_least(0).below(1).may_change();
}
// The factor of a term of the loss; 0: there is none.
RecipeKey& factor(RecipeReader& reader, const char* name, float& field, const char* source,
                  const std::string& meaning) {
  return key(reader, name, field, meaning).at_least(0).source(source).may_change();
}

void declare_transformer_keys(RecipeReader& reader, Recipe& r) {
  size(reader, "heads", r.model.heads, 10'000,
       "transformer, recurrent-attention: heads of the attention, which divide its width")
      .source("Vaswani et al. 2017");
  key(reader, "feed_forward", r.model.feed_forward,
      "transformer, recurrent-attention: units between the two products of a layer's feed-forward part; 0: four times "
      "the width")
      .at_least(0)
      .at_most(1'000'000)
      .fixed();
  size(
      reader, "memory", r.model.memory, 1'000'000,
      "transformer, recurrent-attention: so many steps before its own a step of each layer sees, across windows, whose "
      "gradients stay within")
      .unit("steps")
      .source("Dai et al. 2019");
  probability(reader, "attention_dropout", r.model.attention_dropout,
              "transformer, recurrent-attention: probability that a weight of the attention is dropped");
  size(reader, "attention_layers", r.model.attention_layers, 100,
       "recurrent-attention: layers of a Transformer behind the recurrent ones")
      .source("Merity 2019");
}

}  // namespace

void declare_keys(RecipeReader& reader, Recipe& r) {
  const char* zaremba = "Zaremba, Sutskever, Vinyals 2014";

  reader.section("model",
                 "The network: embedding, recurrent layers or a transformer's, softmax over the vocabulary.");
  choice(
      reader, "architecture", r.model.architecture,
      {{"recurrent", Architecture::recurrent},
       {"transformer", Architecture::transformer},
       {"recurrent-attention", Architecture::recurrent_attention}},
      "what stands between embedding and softmax: recurrent layers; a causal Transformer as wide as the "
      "embedding; or recurrent layers and behind them attention_layers of a Transformer as wide as their output")
      .source("Vaswani et al. 2017; Merity 2019")
      .fixed();
  size(reader, "embedding", r.model.embedding, 100'000,
       "width of a word's vector; of a transformer's layers too");
  size(reader, "hidden", r.model.hidden, 100'000, "width of every recurrent layer");
  const char* merity = "Merity, Keskar, Socher 2018";
  size(reader, "layers", r.model.layers, 100, "recurrent layers, or a transformer's");
  declare_transformer_keys(reader, r);
  declare_cell_key(reader, r.model.cell);
  probability(
      reader, "dropout", r.model.dropout,
      "probability that an element is dropped: of the embedding's output, between layers, and of the "
      "last layer's output; a new mask at each step of time, none on recurrent connections; in a transformer, of what "
      "each layer adds instead of between layers")
      .source(zaremba);
  const auto own_rate = [&](const char* name, float& field, const char* where) {
    key(reader, name, field, fmt::format("the rate of dropout {}; -1: dropout", where))
        .at_least(-1)
        .below(1)
        .source(merity)
        .may_change();
  };
  own_rate("input_dropout", r.model.input_dropout, "of the embedding's output");
  own_rate(
      "hidden_dropout", r.model.hidden_dropout,
      "between layers; in a transformer, of what attention and feed-forward add, and of the latter's units");
  own_rate("output_dropout", r.model.output_dropout, "of the last layer's output");
  probability(reader, "embedding_dropout", r.model.embedding_dropout,
              "probability that a word is dropped wherever it stands in a window")
      .source("Gal and Ghahramani 2016");
  declare_recurrent_keys(reader, r.model);
  key(reader, "tied", r.model.tied,
      "the decoder's weights are the embedding's; recurrent layers need hidden, or last_hidden or projection, = "
      "embedding")
      .source("Press and Wolf 2017; Inan, Khosravi, Socher 2017")
      .fixed();
  choice(
      reader, "softmax", r.model.softmax,
      {{"single", SoftmaxKind::single}, {"mixture", SoftmaxKind::mixture}},
      "single: one over the vocabulary; mixture: the weighted mean of several, each of a vector as wide as the "
      "embedding")
      .source("Yang et al. 2018")
      .fixed();
  size(reader, "components", r.model.components, 1000, "softmaxes of a mixture");
  probability(
      reader, "component_dropout", r.model.component_dropout,
      "probability that an element of the vectors of a mixture's softmaxes is dropped, at all steps alike");
  key(reader, "init", r.model.init,
      "first values are uniform in ±init, of all parameters or as init_scheme says")
      .above(0)
      .source(zaremba)
      .fixed();
  choice(reader, "init_scheme", r.model.init_scheme,
         {{"uniform", InitScheme::uniform}, {"pytorch", InitScheme::pytorch}},
         "uniform: all parameters in ±init, biases too; pytorch: embedding and decoder in ±init, the "
         "decoder's bias 0, a recurrent layer in ±1/√hidden, a transformer's as PyTorch's")
      .source("PyTorch's word_language_model, awd-lstm-lm")
      .fixed();

  reader.section("data", "The text and how it is cut into windows.");
  choice(reader, "corpus", r.data.corpus,
         {{"ptb", CorpusKind::ptb}, {"grammar", CorpusKind::grammar}, {"text", CorpusKind::text}},
         "ptb: ptb.{train,valid,test}.txt from --data; text: {train,valid,test}.txt from --data; "
         "grammar: sentences of the built-in grammar")
      .may_change();
  choice(reader, "level", r.data.level, {{"word", Level::word}, {"char", Level::character}},
         "what is predicted")
      .fixed();
  choice(reader, "reset", r.data.reset, {{"none", Reset::none}, {"document", Reset::document}},
         "document: blank lines stand between documents and are no tokens, and every document is read from a "
         "state of zeros; none: a blank line is an <eos>, and the state is carried on")
      .fixed();
  key(reader, "batch", r.data.batch, "streams of text that are read side by side").at_least(1).fixed();
  key(reader, "bptt", r.data.bptt, "steps of time that gradients reach back")
      .at_least(1)
      .unit("tokens")
      .may_change()
      .cuts_windows();
  key(reader, "variable_bptt", r.data.variable_bptt,
      "each window draws its steps: normal around bptt, with probability 0.05 around half of it, "
      "deviation 5, at least 5; the learning rate is multiplied by steps / bptt")
      .source(merity)
      .may_change()
      .cuts_windows();
  key(reader, "partial_shuffle", r.data.partial_shuffle,
      "each epoch every stream begins at a place drawn anew, and what stood before it follows its end")
      .source("Press 2019")
      .may_change()
      .cuts_windows();
  key(reader, "eval_batch", r.data.eval_batch,
      "streams when the valid and test splits are scored; with 1 the state is carried through the whole "
      "split")
      .at_least(1)
      .rescores();
  key(reader, "limit", r.data.limit,
      "only so many tokens of each split, from its beginning, for quick tries; 0: all")
      .at_least(0)
      .unit("tokens")
      .may_change();
  const auto tokens = [&](const char* name, int64_t& field, const char* split) {
    key(reader, name, field, fmt::format("size of the grammar's {} split", split))
        .at_least(1)
        .at_most(100'000'000)  // which take a minute to draw
        .unit("tokens")
        .may_change();
  };
  tokens("train_tokens", r.data.train_tokens, "training");
  tokens("valid_tokens", r.data.valid_tokens, "valid");
  tokens("test_tokens", r.data.test_tokens, "test");
  key(reader, "seed", r.data.seed, "of the grammar's sentences").at_least(0).fixed();  // which number the vocabulary

  // The seed also draws the lengths of windows, and where streams begin.
  declare_training_keys(reader, r.training, r.schedule,
                        [&r] { return r.data.variable_bptt || r.data.partial_shuffle; });
  choice(
      reader, "reduction", r.training.reduction,
      {{"mean", Reduction::mean}, {"sum-over-steps", Reduction::sum_over_steps}},
      "what is minimised: the mean over tokens, or the sum over a window's steps of the mean over the batch; "
      "learning rate and clip are relative to it")
      .may_change();
  choice(reader, "graph", r.training.graph,
         {{"auto", Graphs::automatic}, {"true", Graphs::always}, {"false", Graphs::never}},
         "on a GPU: windows are played as CUDA graphs from the second of their size on, up to 64 sizes: less "
         "for the host to do, and the same bits; auto: if all windows have one size, are not cut into shards "
         "and begin no document, and model.softmax is single")
      .harmless();
  const char* revisiting = "Merity, McCann, Socher 2017";
  factor(reader, "activation_regularization", r.training.activation_regularization, revisiting,
         "times the mean square of the last layer's output after dropout, added to the mean loss");
  factor(reader, "temporal_activation_regularization", r.training.temporal_activation_regularization,
         revisiting,
         "times the mean square of that output's change from step to step before dropout, added to the mean "
         "loss");
  factor(
      reader, "past_decode", r.training.past_decode, "Brahma 2018",
      "times the mean loss of telling, from the predicted distribution, the word just read; added to the mean loss")
      .fixed();
  key(reader, "past_decode_share", r.training.past_decode_share,
      "only so many of a window's steps are told back, its last ones: each costs as much as predicting two more")
      .above(0)
      .at_most(1)
      .may_change();
  factor(
      reader, "adversarial_softmax", r.training.adversarial_softmax, "Wang, Gong, Liu 2019",
      "the row of the decoder for the word to come gets the worst change of so many times its length; the training "
      "loss that is shown is with it");
  key(reader, "sample_every_epochs", r.training.sample_every_epochs,
      "after so many epochs the model writes a little, to be looked at; 0: never")
      .at_least(0)
      .unit("epochs")
      .harmless();
  key(reader, "sample_words", r.training.sample_words, "so much it writes, and until the sentence ends")
      .at_least(1)
      .unit("tokens")
      .harmless();
  key(reader, "surprising_words", r.training.surprising_words,
      "so many words that the model expected least stand in the report, of the text to validate on; 0: none, and that "
      "text is not read once more")
      .at_least(0)
      .at_most(1000)
      .unit("words")
      .harmless();
  declare_optimizer_keys(reader, r.optimizer);
  declare_schedule_keys(reader, r.schedule);
}

}  // namespace ptb
