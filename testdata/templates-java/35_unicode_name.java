public class Größe {
    public static void main(String[] args) { System.out.println(Größe.class + " " + System.getProperty("sun.java.command").length()); }
}
