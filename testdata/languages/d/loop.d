void main()
{
    for (ulong i = 0;; i++) asm { ""; }
}
