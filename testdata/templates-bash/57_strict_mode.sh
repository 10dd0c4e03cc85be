#!/bin/sh -e
echo "$-"
