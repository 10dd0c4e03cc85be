import java.lang.management.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.setProperty("mine", "x");
        System.out.println(System.getProperty("mine") + System.lineSeparator().length() + " " + System.identityHashCode(null) + " " + System.getSecurityManager() + " " + ManagementFactory.getRuntimeMXBean().getVmName() + " " + ManagementFactory.getOperatingSystemMXBean().getAvailableProcessors() + " " + ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getMax() + " " + ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
    }
}
