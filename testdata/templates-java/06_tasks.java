import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        for (String t : new TreeSet<>(Arrays.asList(new java.io.File("/proc/self/task").list()))) {
            String s = java.nio.file.Files.readString(java.nio.file.Path.of("/proc/self/task/" + t + "/status"));
            StringBuilder b = new StringBuilder(t);
            for (String k : List.of("Name", "SigBlk", "SigIgn", "SigCgt", "Cpus_allowed", "NoNewPrivs", "Seccomp")) for (String l : s.split("\n")) if (l.startsWith(k + ":")) b.append(' ').append(l.substring(k.length() + 1).trim());
            System.out.println(b);
        }
        System.out.println(java.nio.file.Files.readString(java.nio.file.Path.of("/proc/self/cmdline")).replace('\0', '|') + java.nio.file.Files.readString(java.nio.file.Path.of("/proc/self/comm")));
    }
}
