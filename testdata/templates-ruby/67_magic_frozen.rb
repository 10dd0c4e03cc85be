# frozen_string_literal: true
begin; "a" << "b"; rescue => e; puts e.message; end
