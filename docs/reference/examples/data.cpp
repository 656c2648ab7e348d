// Windows of a sequence, text, the built-in grammar, tables.
#include "data/csv.h"
#include "data/text/grammar.h"
#include "data/text/grammar_structure.h"
#include "data/text/ngram.h"
#include "data/text_file.h"
#include "docs/reference/examples/examples.h"

namespace {

void windows_of_text() {
  //! [BpttWindows]
  const std::vector<int32_t> tokens = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  BpttWindows windows(tokens, WindowOptions{.batch = 2, .steps = 3});  // tokens must outlive it
  check(windows.count() == 2);
  const Window first = windows.at(0);  // input and target, [steps, batch]: valid until the next one
  check(first.input(0, 1) == 4 && first.target(0, 1) == 5);
  for (const auto& [input, target] : windows) check(input.dim(1) == 2);
  //! [BpttWindows]
}

void text() {
  //! [Corpus]
  const Folder folder;
  for (const char* split : {"train", "valid", "test"})
    write_new_file(folder / (std::string(split) + ".txt"), "the cat sat\nthe dog sat\n");
  const TextForm form(Level::word);
  const Corpus corpus = load_text(folder.path(), form);
  const Reading& facts = corpus.reading(Split::valid);
  check(corpus.train.size() == 8 && facts.unknown.empty());  // with an <eos> for each line
  check(decode(corpus.train, corpus.vocabulary, Level::word) == "the cat sat\nthe dog sat\n");
  //! [Corpus]

  //! [Vocabulary]
  Vocabulary words(std::vector<std::string>{"<unk>", "<eos>", "cat"});
  check(words.id("cat") == 2 && words.id("gnu") == 0);  // an unknown word: <unk>
  check(words.add("gnu") == 3 && words.size() == 4);
  //! [Vocabulary]

  //! [NgramModel]
  const NgramModel bigram(2, corpus.train, corpus.vocabulary.size(), corpus.vocabulary.eos());
  const int32_t the[] = {corpus.vocabulary.id("the")};
  check(bigram.probability(the, corpus.vocabulary.id("cat")) >
        bigram.probability(the, corpus.vocabulary.id("sat")));
  //! [NgramModel]

  //! [TextLine]
  std::string_view rest = "one\r\ntwo";
  const TextLine line = take_line(rest);
  check(line.text == "one" && line.has_end && rest == "two");
  //! [TextLine]
}

void grammar() {
  //! [Grammar]
  const Grammar& grammar = Grammar::built_in();
  RandomStream random(1, "sentences");
  const Grammar::Sentence drawn = grammar.sample(random);
  check(near(*grammar.log_probability(drawn.words), drawn.log_probability, 1e-9));

  GrammarPrefix prefix;  // what may follow, and how likely
  prefix.read(drawn.words[0]);
  check(prefix.probability(drawn.words[1]) > 0);

  for (const AnnotatedWord& word : sample_annotated(grammar, random))
    if (word.subject >= 0) check(!number_of(grammar, word.symbol).empty());  // a verb that agrees with a noun

  const GrammarCorpus text =
      generate_grammar_corpus(1, GrammarSizes{.train = 20'000, .valid = 100, .test = 100});
  check(text.source_train_perplexity > 8 && text.source_train_perplexity < 12);  // no model beats its source
  //! [Grammar]
}

void tables() {
  //! [CsvReader]
  CsvReader rows("time,load\n1,\"2,5\"\n", "load.csv");
  check(rows.next() && rows.cells()[1] == "load");
  check(rows.next() && rows.cells()[1] == "2,5" && rows.line() == 2 && !rows.next());
  //! [CsvReader]

  //! [CsvQuoteError]
  CsvReader unclosed("time,load\n\"1,2\n", "load.csv");
  check(unclosed.next());
  try {
    unclosed.next();
    check(false);
  } catch (const CsvQuoteError& fault) { check(fault.line == 2); }
  //! [CsvQuoteError]
}

}  // namespace

void data() { windows_of_text(), text(), grammar(), tables(); }
