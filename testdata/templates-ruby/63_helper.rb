require_relative "helper"
p helper(1)
load "helper.rb"
p $LOADED_FEATURES.last
$: << "."
p require("helper")
