struct NcclFunctions;
extern "C" int RunBody(const NcclFunctions* functions, const char* what);

int main(int, char** argv) { return RunBody(nullptr, argv[1]); }
