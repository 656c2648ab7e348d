// The programs of examples/tutorial/ learn what they set out to: each ends with 0 only then.
#include "tests/program.h"

TEST_CASE("the first model tells its two classes apart") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("first_model"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
}

TEST_CASE("the custom cell learns to add") {
  const Folder folder;
  const ProgramRun run = run_program(program_named("custom_cell"), {}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.out, run.err);
}
