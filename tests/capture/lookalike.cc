// A library that exports a function of the driver's name for purposes of its own.
extern "C" __attribute__((visibility("default"))) int cuGraphLaunch() { return 77; }
