// The compiled patches inside the library.
	.section .rodata
	.balign 16
	.globl ss_patches_begin
	.hidden ss_patches_begin
	.type ss_patches_begin, @object
ss_patches_begin:
	.incbin SS_PATCHES
	.size ss_patches_begin, . - ss_patches_begin
	.section .note.GNU-stack,"",@progbits
