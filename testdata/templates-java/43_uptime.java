import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var r = java.lang.management.ManagementFactory.getRuntimeMXBean();
        System.out.println((r.getUptime() < 2500) + " " + (r.getUptime() > 0) + " " + (Math.abs(System.currentTimeMillis() - r.getStartTime()) < 2500) + " " + r.getInputArguments() + " " + r.getName().replaceAll("@.*", ""));
        var t = java.lang.management.ManagementFactory.getThreadMXBean();
        System.out.println(t.getThreadCount() + " " + t.getTotalStartedThreadCount() + " " + t.getPeakThreadCount() + " " + (t.getCurrentThreadCpuTime() > 0));
        System.out.println(java.lang.management.ManagementFactory.getGarbageCollectorMXBeans().stream().map(g -> g.getName() + g.getCollectionCount()).toList());
    }
}
