import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        ProcessHandle p = ProcessHandle.current();
        System.out.println(p.pid() + " " + p.parent().map(ProcessHandle::pid) + " " + p.info().command() + " " + p.children().count() + " " + p.isAlive());
        System.out.println(Math.abs(p.info().startInstant().get().toEpochMilli() - System.currentTimeMillis()) < 3000);
        System.out.println(new java.io.File(".").getCanonicalPath() + " " + System.getProperty("user.dir"));
    }
}
