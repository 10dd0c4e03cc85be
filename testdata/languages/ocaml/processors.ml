let () = Printf.printf "processors %d\n" (Domain.recommended_domain_count ())
