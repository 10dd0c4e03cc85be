void main()
{
    ubyte[][] kept;
    for (;;)
    {
        auto block = new ubyte[1 << 20];
        block[] = 1;
        kept ~= block;
    }
}
