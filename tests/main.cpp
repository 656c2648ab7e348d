// doctest and its main(), compiled once for all suites.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

// A filter that no test passes is a fault: nothing was tested.
struct SomeTest final : doctest::IReporter {
  inline static bool ran = false;
  explicit SomeTest(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData&) override { ran = true; }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace

REGISTER_LISTENER("some_test", 1, SomeTest);

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (SomeTest::ran || context.shouldExit()) return status;
  std::fputs("no test passes the filters\n", stderr);
  return 1;
}
