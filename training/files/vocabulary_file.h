// Vocabularies in files: in a model's file as a JSON array, or one word per line.
#pragma once

#include <filesystem>

#include "data/text/vocabulary.h"
#include "training/files/safetensors.h"

namespace unroll {

// Reads a model's file: its metadata "vocabulary" is a JSON array of the words in the order of their ids. Throws
// InputError, naming the file, if there is none, or it is no array of words, is empty, or has a word twice.
Vocabulary vocabulary_of(const SafetensorsFile& file);
// The text that vocabulary_of() reads.
std::string vocabulary_metadata(const Vocabulary& vocabulary);

// Reads a file of its own: such an array if the name ends in ".json", else one word per line. Throws InputError, naming
// the file and, if there is one, the line.
Vocabulary load_vocabulary(const std::filesystem::path& path);

}  // namespace unroll
