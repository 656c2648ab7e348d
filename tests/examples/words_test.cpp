// Reading texts, however they are spelled: written ends of lines, unknown words, and messages about them.
#include "data/text/corpus.h"
#include "tests/examples/ptb.h"
#include "tests/support.h"
#include "training/files/safetensors.h"

using namespace unroll;

namespace {

using Ids = std::vector<int32_t>;

void write_corpus(const Folder& folder, const std::string& name, const std::string& train,
                  const std::string& valid, const std::string& test) {
  folder.write(name + "/train.txt", train);
  folder.write(name + "/valid.txt", valid);
  folder.write(name + "/test.txt", test);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

struct Spelling {
  std::string text;
  int written_ends;
};

}  // namespace

TEST_CASE("every spelling of a text has the same tokens") {
  // Three lines and an empty one before the last: the=0 cat=1 sat=2 <eos>=3 a=4 dog=5.
  const Ids words = {0, 1, 2, 3, 4, 5, 3, 3, 0, 1, 3};
  for (const Spelling& s : {Spelling{"the cat sat\na dog\n\nthe cat\n", 0},
                            {"the cat sat\na dog\n\nthe cat", 0},
                            {"the cat sat\r\na dog\r\n\r\nthe cat\r\n", 0},
                            {"the cat sat\ra dog\r\rthe cat\r", 0},
                            {"the cat sat\na dog\r\n\rthe cat\r", 0},
                            {"the cat sat <eos>\ra dog <eos>\r<eos>\rthe cat <eos>\r", 4},
                            {"\xEF\xBB\xBFthe cat sat\na dog\n\nthe cat\n", 0},
                            {"  the\tcat   sat \n\ta  dog\n \t\nthe cat \n", 0},
                            {"the cat sat <eos>\na dog <eos>\n<eos>\nthe cat <eos>\n", 4},
                            {"the cat sat <eos>\na dog <eos>\n<eos>\nthe cat <eos>", 4},
                            {"the cat sat <eos> \r\na dog\t<eos>\r\n<eos>\r\n the cat  <eos>\r\n", 4},
                            {"the cat sat <eos> a dog <eos> <eos> the cat <eos>", 4},
                            {"the cat sat <eos> a dog\n\nthe cat\n", 1},
                            {"the cat sat\na dog <eos> <eos>\nthe cat\n", 2}}) {
    CAPTURE(s.text);
    const Folder folder;
    write_corpus(folder, "text", s.text, s.text, s.text);
    const Corpus corpus = load_text(folder / "text");
    CHECK(corpus.vocabulary.words() == Words{"the", "cat", "sat", "<eos>", "a", "dog"});
    for (const Split split : {Split::train, Split::valid, Split::test}) {
      CHECK(corpus.split(split) == words);
      CHECK(corpus.reading(split).written_ends == s.written_ends);
    }
    Reading reading;
    CHECK(load_text_split(folder / "text", Split::test, corpus.vocabulary, Level::word, &reading) == words);
    CHECK(reading.written_ends == s.written_ends);
  }
  // As characters blanks count, but those around a written end: a=0 ' '=1 b=2 <eos>=3 c=4.
  for (const Spelling& s : {Spelling{"a b\nc\n\n", 0},
                            {"a b\r\nc\r\n\r\n", 0},
                            {"a b\rc\r\r", 0},
                            {"a b <eos>\nc <eos>\n<eos>\n", 3},
                            {"a b <eos> c <eos> <eos>", 3},
                            {"\xEF\xBB\xBF"
                             "a b<eos>\nc\n\n",
                             -1}}) {
    CAPTURE(s.text);
    const Folder folder;
    write_corpus(folder, "text", s.text, s.text, s.text);
    const Corpus corpus = load_text(folder / "text", Level::character);
    if (s.written_ends < 0) {
      CHECK(corpus.train.size() == 3 + 5 + 1 + 1 + 1 + 1);  // "b<eos>" is no end: six characters
      continue;
    }
    for (const Split split : {Split::train, Split::valid, Split::test}) {
      CHECK(corpus.split(split) == Ids{0, 1, 2, 3, 4, 3, 3});
      CHECK(corpus.reading(split).written_ends == s.written_ends);
    }
  }
}

TEST_CASE("only a whole word is an end of a line, and lines are counted as an editor does") {
  const Folder folder;
  write_corpus(folder, "text", "a<eos> <eos>b <EOS>\n", "a<eos>\n", "a<eos>\n");
  CHECK(load_text(folder / "text").vocabulary.words() == Words{"a<eos>", "<eos>b", "<EOS>", "<eos>"});
  write_corpus(folder, "text", "a b\n", "a\n", "a <eos> b <eos>\na c\n");
  CHECK(lacks(input_error_of([&] { load_text(folder / "text"); }), {"test.txt:2: 'c'"}) == "");
  write_corpus(folder, "text", "a b\n", "<eos>\n<eos>\n", "a\n");
  CHECK(lacks(input_error_of([&] { load_text(folder / "text"); }), {"valid.txt", "no words"}) == "");
  write_corpus(folder, "text", "<eos>", "a\n", "a\n");
  CHECK(lacks(input_error_of([&] { load_text(folder / "text"); }), {"train.txt", "no words"}) == "");
  CHECK(encode("a <eos>\n", Vocabulary({"<eos>", "a"}), Level::word, "--prompt") == Ids{1, 0});
  Reading reading;
  CHECK(encode("<s> a </s>\n", Vocabulary({"<eos>", "a", "<s>", "</s>"}), Level::word, "text", &reading) ==
        Ids{2, 1, 3, 0});
  CHECK(reading.sentence_marks == 2);
}

TEST_CASE("a text that writes its <eos> trains, scores and goes on like the one that does not, and says so") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  write_text(folder, "plain");  // 200, 20 and 20 lines
  for (const char* split : {"train", "valid", "test"})
    folder.write(fmt::format("written/{}.txt", split),
                 replaced(read_text(folder / fmt::format("plain/{}.txt", split)), "\n", "<eos>\n"));
  const auto trained_on = [&](const std::string& text) {
    return ptb_out({"train", "tiny.toml", "--data", text, "--set", "data.corpus=text", "--out", text + "-run",
                    "--threads", "1"},
                   folder.path());
  };
  const auto scores = [&](const std::string& out) {  // perplexities, also those by counting
    std::string lines;
    for (const std::string& line : lines_of(out))
      if (has(line, "perplexity ") || has(line, "trigram")) lines += line + "\n";
    return lines;
  };
  const std::string plain = trained_on("plain"), written = trained_on("written");
  CHECK(has(scores(plain), "trigram"));
  CHECK(scores(plain) == scores(written));
  CHECK(!has(plain, "<eos>"));
  CHECK(has(written, "the train text writes <eos> 200 times"));
  CHECK(has(written, "the test text writes <eos> 20 times"));
  const SafetensorsFile a(folder / "plain-run/last.safetensors"), b(folder / "written-run/last.safetensors");
  for (const SafetensorsFile::Entry& entry : a.entries())
    CHECK_MESSAGE(same_bits(a.load(entry.name), b.load(entry.name)), entry.name);

  const auto evaluated = [&](const std::string& text) {
    return ptb_out({"evaluate", "plain-run/last.safetensors", "--data", text}, folder.path());
  };
  CHECK(lines_of(evaluated("written"))[0] == lines_of(evaluated("plain"))[0]);
  CHECK(has(evaluated("written"), "the test text writes <eos> 20 times"));
  const auto generated = [&](const char* prompt) {
    return ptb_out({"generate", "plain-run/last.safetensors", "--words", "9", "--prompt", prompt},
                   folder.path());
  };
  CHECK(generated("the cat <eos>\n") == generated("the cat\n"));
}

TEST_CASE("how many words of a text are unknown is said by all who score it") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  // The validation text has 1 unknown token of 6, the test text 4 of 8. The <unk> of the text itself is a word.
  write_corpus(folder, "text", sentences(200) + "<unk>\n", "the dog sat\n<unk>\n",
               "a red fox sat\nnear logs\n");
  const std::string valid = "1 of 6 tokens, 16.7 %, are not in the model's vocabulary and count as <unk>",
                    test = "4 of 8 tokens, 50.0 %, are not in the model's vocabulary and count as <unk>";
  const Words train = {"train", "tiny.toml", "--data", "text", "--set", "data.corpus=text", "--out", "run"};
  const std::string out = ptb_out(train, folder.path());
  CHECK(has(out, "note    of the valid text " + valid));
  CHECK(has(out, "note    of the test text " + test));
  CHECK(has(out.substr(out.find("\nvalid ")), "        " + valid));  // and under the scores
  CHECK(has(out.substr(out.find("\ntest ")), "        " + test));
  CHECK(has(ptb_out({"resume", "run", "--quiet"}, folder.path()), test));
  CHECK(has(read_text(folder / "run/report.html"), "4 of 8 tokens, 50.0 %"));
  std::filesystem::remove(folder / "run/report.html");
  ptb_out({"report", "run"}, folder.path());
  CHECK(has(read_text(folder / "run/report.html"), "4 of 8 tokens, 50.0 %"));

  const auto json = ptb_json({"resume", "run"}, folder.path());
  CHECK(json["unknown_valid_tokens"] == 1);
  CHECK(json["unknown_test_tokens"] == 4);
  CHECK(has(ptb_out({"evaluate", "run/last.safetensors", "--data", "text"}, folder.path()), test));
  CHECK(has(ptb_out({"explain", "tiny.toml", "--data", "text", "--set", "data.corpus=text"}, folder.path()),
            test));

  // Cut after 5 tokens (a, red, fox, sat, <eos>), 2 of the test text are unknown.
  const auto cut = ptb_json({"train", "tiny.toml", "--data", "text", "--set", "data.corpus=text", "--set",
                             "data.limit=5", "--set", "data.batch=2", "--out", "cut"},
                            folder.path());
  CHECK(cut["unknown_test_tokens"] == 2);
}

TEST_CASE(
    "how many tokens of a text count, and in how many streams they are scored, is said by all who score it") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  write_text(folder, "text");  // the valid and the test text have 20 lines of 7.5 tokens
  const Words train = {"train", "tiny.toml",        "--data", "text",
                       "--set", "data.corpus=text", "--set",  "data.eval_batch=60"};
  const std::string streams = "the test text has 50 tokens, and is scored in 50 streams, not in 60",
                    limit = "data.limit = 50: the first 50 of the test text's 150 tokens are used";
  const std::string out = ptb_out(train + Words{"--set", "data.limit=50", "--out", "cut"}, folder.path());
  CHECK_MESSAGE(has(out, "note    data.limit = 50: the first 50 of the train text's 1,500 tokens are used\n"),
                out);
  for (const std::string& note : {limit, streams}) CHECK_MESSAGE(has(out, "note    " + note + "\n"), out);
  CHECK_MESSAGE(has(out, "50 of 150 tokens scored"), out);
  const std::string again = ptb_out({"evaluate", "cut/last.safetensors", "--data", "text"}, folder.path());
  CHECK_MESSAGE(has(again, ", 50 tokens of 150\n"), again);
  for (const std::string& note : {limit, streams}) CHECK_MESSAGE(has(again, "note: " + note + "\n"), again);
  // One rule for the recipe and the option: the streams are the tokens where there are fewer tokens.
  ptb_out(train + Words{"--out", "whole"}, folder.path());
  const auto scored = [&](const char* batch) {
    return ptb_out({"evaluate", "whole/last.safetensors", "--data", "text", "--batch", batch}, folder.path());
  };
  CHECK(!has(scored("150"), "note"));
  CHECK(lines_of(scored("1000000"))[0] == lines_of(scored("150"))[0]);
  CHECK(has(scored("1000000"), "the test text has 150 tokens, and is scored in 150 streams, not in 1000000"));
  CHECK(!has(ptb_out({"evaluate", "whole/last.safetensors", "--data", "text"}, folder.path()), "note"));

  // The built-in grammar makes whole sentences, at least data.limit tokens of them.
  ptb_out({"train", "tiny.toml", "--set", "data.limit=19000", "--out", "grammar"}, folder.path());
  const std::string of_grammar =
      ptb_out({"evaluate", "grammar/last.safetensors", "--split", "train"}, folder.path());
  CHECK_MESSAGE(has(of_grammar, "19011 tokens of 20000, "), of_grammar);
  CHECK_MESSAGE(has(of_grammar, "data.limit = 19000: the first 19,0"), of_grammar);
  // And few of them, of the vocabulary of all.
  ptb_out({"train", "tiny.toml", "--set", "data.limit=300", "--out", "few"}, folder.path());
  const std::string of_few = ptb_out({"evaluate", "few/last.safetensors"}, folder.path());
  CHECK_MESSAGE(has(of_few, "data.limit = 300: the first 30"), of_few);
  const auto vocabulary = [&](const char* run) {
    return SafetensorsFile(folder / run / "last.safetensors").metadata().at("vocabulary");
  };
  CHECK(vocabulary("few") == vocabulary("grammar"));
}
