using System;
using System.IO;
using System.IO.MemoryMappedFiles;

class Program {
    static void Must(bool ok, string what) { if (!ok) throw new Exception(what); }

    static void Main() {
        File.WriteAllText("a.txt", "hello");
        File.AppendAllText("a.txt", ", world");
        File.Move("a.txt", "b.txt");
        Directory.CreateDirectory("d/e");
        File.Copy("b.txt", "d/b.txt");
        File.SetLastWriteTimeUtc("b.txt", new DateTime(2020, 1, 2, 0, 0, 0, DateTimeKind.Utc));
        Must(File.GetLastWriteTimeUtc("b.txt").Year == 2020, "time");
        File.SetAttributes("b.txt", FileAttributes.ReadOnly);
        File.SetAttributes("b.txt", FileAttributes.Normal);
        Must(Directory.GetFileSystemEntries("d").Length == 2, "list");
        using (var f = new FileStream("b.txt", FileMode.Open, FileAccess.ReadWrite)) {
            f.Lock(0, 5);
            f.SetLength(5);
            f.Seek(1, SeekOrigin.Begin);
            Must(f.ReadByte() == 'e', "read");
            f.Flush(true);
            f.Unlock(0, 5);
        }
        using (var map = MemoryMappedFile.CreateFromFile("b.txt"))
        using (var view = map.CreateViewAccessor(0, 5)) Must(view.ReadByte(0) == 'h', "map");
        Directory.SetCurrentDirectory("d");
        Must(Directory.GetCurrentDirectory() == "/box/d" && File.Exists("b.txt"), "chdir");
        Directory.SetCurrentDirectory("..");
        Directory.Move("d", "moved");
        Directory.Delete("moved", true);
        File.Delete("b.txt");
        Must(!Directory.Exists("moved") && !File.Exists("b.txt") && new DriveInfo("/box").AvailableFreeSpace > 0, "delete");
        Console.WriteLine("files ok");
    }
}
