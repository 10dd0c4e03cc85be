static class Other {
    public const string Text = "from another file";
}
