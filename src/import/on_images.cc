// Records about machine code and tensor maps.
#include "src/import/state.h"

namespace ss {

void Importer::State::On(const trace::Image&) {}
void Importer::State::On(const trace::ImageBytes&) {}
void Importer::State::On(const trace::ImageLoad&) {}
void Importer::State::On(const trace::TensorMap&) {}

}  // namespace ss
