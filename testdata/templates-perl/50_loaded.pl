use POSIX; print scalar(@DynaLoader::dl_modules), " @DynaLoader::dl_modules\n"; print join(" ", sort keys %INC), "\n";
