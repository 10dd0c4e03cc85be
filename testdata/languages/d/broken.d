void main()
{
    int n = "no number";
}
