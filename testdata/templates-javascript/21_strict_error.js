"use strict"; undefinedVariable = 1;
