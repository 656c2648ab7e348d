// Vocabularies in files: in a model's file, as a JSON array, or a word per line.
#pragma once

#include <filesystem>

#include "data/text/vocabulary.h"
#include "training/files/safetensors.h"

namespace unroll {

// From a model's file: its metadata "vocabulary", a JSON array of the words in the order of their ids. Throws
// InputError naming the file: there is none, it is no array of words, it is empty, a word stands in it twice.
Vocabulary vocabulary_of(const SafetensorsFile& file);
// The text that vocabulary_of() reads.
std::string vocabulary_metadata(const Vocabulary& vocabulary);

// From a file of its own: such an array if its name ends in ".json", else a word per line. Throws InputError
// naming the file, and the line where there is one.
Vocabulary load_vocabulary(const std::filesystem::path& path);

}  // namespace unroll
