// A first program of each language, so that nobody starts at an empty page.
export const samples: Record<string, { source: string; stdin: string }> = {
  python: { source: 'name = input()\nprint("Hello,", name)\n', stdin: "brig\n" },
  pypy: { source: 'name = input()\nprint("Hello,", name)\n', stdin: "brig\n" },
  javascript: { source: 'const lines = require("fs").readFileSync(0, "utf8").split("\\n");\nconsole.log("Hello,", lines[0]);\n', stdin: "brig\n" },
  typescript: { source: 'import { readFileSync } from "fs";\nconst name: string = readFileSync(0, "utf8").trim();\nconsole.log(`Hello, ${name}`);\n', stdin: "brig\n" },
  c: { source: '#include <stdio.h>\n\nint main(void) {\n    char name[64];\n    if (scanf("%63s", name) == 1)\n        printf("Hello, %s\\n", name);\n}\n', stdin: "brig\n" },
  cpp: { source: '#include <iostream>\n#include <string>\n\nint main() {\n    std::string name;\n    std::cin >> name;\n    std::cout << "Hello, " << name << "\\n";\n}\n', stdin: "brig\n" },
  java: { source: 'import java.util.Scanner;\n\npublic class Main {\n    public static void main(String[] args) {\n        System.out.println("Hello, " + new Scanner(System.in).next());\n    }\n}\n', stdin: "brig\n" },
  kotlin: { source: 'fun main() {\n    println("Hello, ${readln()}")\n}\n', stdin: "brig\n" },
  go: { source: 'package main\n\nimport "fmt"\n\nfunc main() {\n\tvar name string\n\tfmt.Scan(&name)\n\tfmt.Println("Hello,", name)\n}\n', stdin: "brig\n" },
  rust: { source: 'use std::io;\n\nfn main() {\n    let mut name = String::new();\n    io::stdin().read_line(&mut name).unwrap();\n    println!("Hello, {}", name.trim());\n}\n', stdin: "brig\n" },
  ruby: { source: 'puts "Hello, #{gets.chomp}"\n', stdin: "brig\n" },
  bash: { source: 'read -r name\necho "Hello, $name"\n', stdin: "brig\n" },
  haskell: { source: 'main :: IO ()\nmain = getLine >>= \\name -> putStrLn ("Hello, " ++ name)\n', stdin: "brig\n" },
};
export const sample = (language: string) => samples[language] ?? { source: "", stdin: "" };
