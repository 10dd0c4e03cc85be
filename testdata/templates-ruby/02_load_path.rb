puts $:, $LOADED_FEATURES
p $;, $,, $/, $\, $., $_, $~, $!, $@, $?, $<.class, $VERBOSE, $DEBUG, $-w, $-p, $-a, $-i, $-l
