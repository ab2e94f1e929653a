// A shared object that carries a fat binary in the section in which nvcc puts it.
asm(".section .nv_fatbin,\"a\"\n.align 8\n.incbin \"" SS_FATBIN "\"\n.previous");
