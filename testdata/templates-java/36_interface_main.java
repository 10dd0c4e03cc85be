interface Main {
    static void main(String[] args) { System.out.println("interface"); }
}
