our $x = 1; sub p { print "$x\n" } sub q1 { local $x = 2; p() } q1(); p(); use feature "state", "say"; sub c { state $n = 0; $n++ } c(); say c();
