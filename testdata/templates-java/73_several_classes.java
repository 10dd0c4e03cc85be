class First { static String s = Second.s + "1"; }
class Second { static String s = "2"; }
public class Third {
    public static void main(String[] args) { System.out.println(First.s + new Third().getClass()); }
}
