// The cubin as a constant of the program, as nvcc's host code and many libraries carry it.
        .section .rodata
        .balign 64
        .globl kernels_cubin
kernels_cubin:
        .incbin KERNELS_CUBIN
        .globl kernels_cubin_end
kernels_cubin_end:
        .section .note.GNU-stack, "", @progbits
